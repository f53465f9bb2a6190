print("collar")
